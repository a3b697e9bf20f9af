"""`flare dev`: builds a program whenever it changes, and swaps it while it serves.

    watch ---> session ---> build (the compiler)
                  |
                  +-------> program: one running version, and what it says
                  +-------> page: what a browser is shown while none runs
"""
