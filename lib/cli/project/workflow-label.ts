/** What a workflow of an artifact is called, and where the artifact says what it was made from. */
interface Named {
  readonly name: string;
  readonly version?: string;
}

export const labelOf = ({ name, version }: Named): string => (version === undefined ? name : `${name}@${version}`);

const folder = 'digests/';

/**
 * A file with the digest of the workflow's sources. The manifest tells that file's own, so that two deployments can be compared
 * without their artifacts. A version may be any text, and is spelled so that it is one path.
 */
export const digestPath = ({ name, version }: Named): string =>
  `${folder}${name}${version === undefined ? '' : `@${encodeURIComponent(version)}`}`;

/** By their paths; empty for artifacts that have none. */
export const digestsIn = (files: readonly { readonly path: string; readonly sha256: string }[]): ReadonlyMap<string, string> =>
  new Map(files.filter(({ path }) => path.startsWith(folder)).map(({ path, sha256 }) => [path, sha256]));
