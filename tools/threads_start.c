/* Linked with programs whose threads Valgrind watches: with the system's allocator in
   place of the runtime's it knows where memory begins a new life, which is no race of
   its last owner with its next. */
void KGEN_CompilerRT_SetAsanAllocators(void);

__attribute__((constructor)) static void begin(void) {
  KGEN_CompilerRT_SetAsanAllocators();
}
