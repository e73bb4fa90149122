/** Node has WebAssembly, but `@types/node` does not declare these values. The DOM library would declare far more than these. */
declare namespace WebAssembly {
  interface Module {}
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  const Module: {
    readonly prototype: Module;
    new (bytes: Uint8Array): Module;
    exports(module: Module): readonly { readonly name: string; readonly kind: string }[];
  };
  function compile(bytes: Uint8Array): Promise<Module>;
}
