/** Loads a module of fauxqs by its path, which the package does not export. The package of the command line contains these modules. */
type Loaded = Readonly<Record<string, unknown>>;

export const loadEmulatorModule = (file: string): Promise<Loaded> => import(new URL(file, import.meta.resolve('fauxqs')).href);
