/** Node has WebAssembly. Its type package leaves the values out, and the browser's whole library is too much for two of them. */
declare namespace WebAssembly {
  interface Module {}
  const Module: { readonly prototype: Module; new (bytes: Uint8Array): Module };
  function compile(bytes: Uint8Array): Promise<Module>;
}
