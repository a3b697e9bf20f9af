/* Linked with programs that AddressSanitizer watches: it sees Mojo's heap only after
   this call of the runtime (docs/mojo-notes.md). */
void KGEN_CompilerRT_SetAsanAllocators(void);

__attribute__((constructor)) static void begin(void) {
  KGEN_CompilerRT_SetAsanAllocators();
}
