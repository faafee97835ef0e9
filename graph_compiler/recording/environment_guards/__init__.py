"""Environment guards: facts about what is outside of a call, checked together by one generated expression."""
