/** What a workflow of an artifact is called, and where the artifact says what it was made from. */
interface NamedWorkflow {
  readonly name: string;
  readonly version?: string;
}

export const workflowLabel = ({ name, version }: NamedWorkflow): string => (version === undefined ? name : `${name}@${version}`);

const digestDirectory = 'digests/';

/**
 * A file with the digest of the workflow's sources. The manifest tells that file's own, so that two deployments can be compared
 * without their artifacts. A version may be any text, and is spelled so that it is one path.
 */
export const digestPath = ({ name, version }: NamedWorkflow): string =>
  `${digestDirectory}${name}${version === undefined ? '' : `@${encodeURIComponent(version)}`}`;

/** By their paths; empty for artifacts that have none. */
export const readDigests = (files: readonly { readonly path: string; readonly sha256: string }[]): ReadonlyMap<string, string> =>
  new Map(files.filter(({ path }) => path.startsWith(digestDirectory)).map(({ path, sha256 }) => [path, sha256]));
