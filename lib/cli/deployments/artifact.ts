/** An artifact and its manifest: packed from a folder, or as they were packed before. */
import { lstatSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import type * as z from 'zod';
import { createDeploymentBody, manifestParts } from '../../api/schemas/deployments.ts';
import { sha256 } from '../../artifact/judge-archive.ts';
import { archiveLimits } from '../../artifact/limits.ts';
import { packArchive } from '../../artifact/pack-archive.ts';
import { usageFault } from '../command.ts';
import { readJson } from '../given.ts';

export interface Artifact {
  readonly manifest: z.output<typeof createDeploymentBody>;
  readonly archive: Uint8Array<ArrayBuffer>;
}

const manifestName = 'manifest.json';
const folderManifest = manifestParts.pick({ deploymentId: true, workflows: true, steps: true }).partial({ deploymentId: true });
/** As many digits of the content's digest as no two contents will share. */
export const idDigits = 24;

/** @throws CliFault */
export async function packedFolder(cwd: string, folder: string, wantedId: string | undefined): Promise<Artifact> {
  const root = resolve(cwd, folder);
  const own = heldManifest(folderManifest, readJson(root, manifestName), join(folder, manifestName));
  const files = filesIn(root);
  files.delete(manifestName);
  if (files.size === 0) throw usageFault(`${folder} holds nothing but ${manifestName}.`);
  const { archive, ...packed } = await packArchive(files);
  const deploymentId = wantedId ?? own.deploymentId ?? packed.artifact.sha256.slice(0, idDigits);
  const manifest = { ...own, deploymentId, specVersion: 1, runtime: 'fetch', ...packed };
  return { manifest: heldManifest(createDeploymentBody, manifest, folder), archive: new Uint8Array(archive) };
}

/** @throws CliFault where the archive is not what its manifest says */
export function readArtifact(cwd: string, archivePath: string, manifestPath: string): Artifact {
  const manifest = heldManifest(createDeploymentBody, readJson(cwd, manifestPath), manifestPath);
  const archive = new Uint8Array(bytesOf(resolve(cwd, archivePath)));
  if (archive.byteLength !== manifest.artifact.bytes || sha256(archive) !== manifest.artifact.sha256)
    throw usageFault(`${archivePath} is not the archive that ${manifestPath} describes: its size or digest is another.`);
  return { manifest, archive };
}

/** @throws CliFault with each fault and its place */
export function heldManifest<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.output<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const faults = read.error.issues.map((issue) => `  /${issue.path.join('/')}: ${issue.message}`);
  throw usageFault(`${path} is no manifest:\n${faults.slice(0, 10).join('\n')}`);
}

/** Files only: a link would be packed as what it leads to, and that may be anything. */
function filesIn(root: string): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  let bytes = 0;
  const walk = (folder: string): void => {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const found = lstatSync(path);
      if (found.isDirectory()) walk(path);
      else if (found.isFile()) {
        bytes += found.size;
        if (bytes > archiveLimits.unpackedBytes || files.size === archiveLimits.entries)
          throw usageFault(
            `${root} is too large: ${archiveLimits.entries} files and ${archiveLimits.unpackedBytes} bytes at most.`,
          );
        files.set(relative(root, path).split(sep).join('/'), readFileSync(path));
      } else throw usageFault(`${path} is neither a file nor a folder.`);
    }
  };
  walk(root);
  return files;
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (trouble) {
    throw usageFault(`${path} cannot be read: ${trouble instanceof Error ? trouble.message : String(trouble)}.`);
  }
}
