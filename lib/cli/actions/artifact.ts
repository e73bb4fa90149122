/** Packs an artifact from a folder, or reads a packed one, and validates its manifest. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import type * as z from 'zod';
import { createDeploymentBody, manifestParts } from '../../api/schemas/deployments.ts';
import { archiveLimits, sha256 } from '../../artifact/archive-rules.ts';
import { packArchive } from '../../artifact/pack-archive.ts';
import type { AppName } from '../../engine/ids.ts';
import { defaultApp } from '../../ports/deployments.ts';
import { usageError } from '../command.ts';
import { readJson } from '../parse-command-line.ts';

export interface Artifact {
  readonly manifest: z.output<typeof createDeploymentBody>;
  readonly archive: Uint8Array<ArrayBuffer>;
}

const manifestName = 'manifest.json';
const directoryManifest = manifestParts
  .pick({ deploymentId: true, app: true, workflows: true, steps: true })
  .partial({ deploymentId: true });
/** Hex digits of the content's digest: 96 bits, so that two contents do not share an id. */
const deploymentIdLength = 24;

/** The id of a deployment that names none. Two apps may have the same content, and an id never means two manifests. */
export const contentId = (app: string, archiveSha256: string, ...more: readonly (string | undefined)[]): string => {
  const parts = [...(app === defaultApp ? [] : [app]), archiveSha256, ...more.filter((part) => part !== undefined)];
  return (parts.length === 1 ? archiveSha256 : sha256(Buffer.from(parts.join('\n')))).slice(0, deploymentIdLength);
};

/** @throws CliError */
export async function packDirectory(
  cwd: string,
  directory: string,
  {
    deploymentId: requestedId,
    app: requestedApp,
  }: { readonly deploymentId?: string | undefined; readonly app?: AppName | undefined },
): Promise<Artifact> {
  const root = resolve(cwd, directory);
  const declaredManifest = validateManifest(directoryManifest, readJson(root, manifestName), join(directory, manifestName));
  const files = readFiles(root);
  files.delete(manifestName);
  if (files.size === 0) throw usageError(`${directory} contains no files besides ${manifestName}.`);
  const { archive, ...packed } = await packArchive(files);
  const app = requestedApp ?? declaredManifest.app;
  const deploymentId = requestedId ?? declaredManifest.deploymentId ?? contentId(app, packed.artifact.sha256);
  const manifest = { ...declaredManifest, app, deploymentId, specVersion: 1, runtime: 'bundle', ...packed };
  return { manifest: validateManifest(createDeploymentBody, manifest, directory), archive: new Uint8Array(archive) };
}

/** @throws CliError if the archive does not match its manifest */
export function readArtifact(cwd: string, archivePath: string, manifestPath: string): Artifact {
  const manifest = validateManifest(createDeploymentBody, readJson(cwd, manifestPath), manifestPath);
  const archive = new Uint8Array(readBytes(resolve(cwd, archivePath)));
  if (archive.byteLength !== manifest.artifact.bytes || sha256(archive) !== manifest.artifact.sha256)
    throw usageError(`${archivePath} does not match ${manifestPath}: its size or digest differs.`);
  return { manifest, archive };
}

/** @throws CliError with each error and its location */
export function validateManifest<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.output<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const issues = read.error.issues.map((issue) => `  /${issue.path.join('/')}: ${issue.message}`);
  throw usageError(`${path} is not a valid manifest:\n${issues.slice(0, 10).join('\n')}`);
}

/** Reads regular files only. A symbolic link could point outside of the folder. */
function readFiles(root: string): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  let bytes = 0;
  const walk = (directory: string): void => {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      const found = lstatSync(path);
      if (found.isDirectory()) walk(path);
      else if (found.isFile()) {
        bytes += found.size;
        if (bytes > archiveLimits.unpackedBytes || files.size === archiveLimits.entries)
          throw usageError(
            `${root} is too large: ${archiveLimits.entries} files and ${archiveLimits.unpackedBytes} bytes are allowed.`,
          );
        files.set(relative(root, path).split(sep).join('/'), readFileSync(path));
      } else throw usageError(`${path} is neither a file nor a folder. Remove it from the folder.`);
    }
  };
  walk(root);
  return files;
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw usageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}
