/* exit: static objects of LLVM are not destroyed when the process ends. Threads of the program may
 * be in the compiler then (daemon threads, and those of a pool that nobody joins), and would find
 * its tables gone: libc runs destructors in exit() while other threads run on. The process ends a
 * moment later anyway, and an extension module is never unloaded before.
 *
 * C++ objects ask for their destruction by calling this function; within the extension, which links
 * LLVM and C++'s library statically, they reach this one, which forgets it. Waiting for threads
 * that compile was the alternative: it would hold the end of a program up, for a compilation that
 * nobody wants any more. */

int __cxa_atexit(void (*destructor)(void *object), void *object, void *library);

int
__cxa_atexit(void (*destructor)(void *object), void *object, void *library)
{
    (void)destructor, (void)object, (void)library;
    return 0;
}
