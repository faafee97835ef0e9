"""Objects of the user's framework that enter or leave a graph written for another one."""
