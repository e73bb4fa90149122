/**
 * Finds the Workflow DevKit in the files of an archive. Its builders put the SDK into each bundle, so the text of a bundle shows it. The
 * SDK keeps the runs of an app in a World, and without one that it knows, in files of the machine.
 */
export interface DevKitBundle {
  readonly path: string;
  /** as the SDK's own steps name it, such as `4.8.9`; undefined: no text shows it */
  readonly version: string | undefined;
}

/** The key of the global under which every version of the SDK since 4.1 keeps its World. */
const worldKey = Buffer.from('@workflow/world//cache');
const bundlePath = /^\.well-known\/workflow\/v1\/[^/]+\.[cm]?js$/;
/** The id of a step that the SDK brings, such as `step//workflow@4.8.9//fetch`. */
const ownStep = /step\/\/workflow@(\d+\.\d+\.\d+[0-9A-Za-z.+-]{0,40})\/\//;

/** @returns the first bundle with the SDK; undefined if no bundle has it */
export function findDevKit(files: ReadonlyMap<string, Uint8Array>): DevKitBundle | undefined {
  const bundles = [...files]
    .filter(([path]) => bundlePath.test(path))
    .map(([path, bytes]) => [path, Buffer.from(bytes)] as const);
  const found = bundles.find(([, bytes]) => bytes.includes(worldKey));
  if (found === undefined) return undefined;
  const versions = bundles.flatMap(([, bytes]) => ownStep.exec(bytes.toString('latin1'))?.[1] ?? []);
  return { path: found[0], version: versions[0] };
}
