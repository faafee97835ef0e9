"""Environment guards: conditions on objects outside a call, checked together by one generated expression."""
