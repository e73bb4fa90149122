/** Node has WebAssembly, but `@types/node` does not declare these values. The DOM library would declare far more than these two. */
declare namespace WebAssembly {
  interface Module {}
  const Module: { readonly prototype: Module; new (bytes: Uint8Array): Module };
  function compile(bytes: Uint8Array): Promise<Module>;
}
