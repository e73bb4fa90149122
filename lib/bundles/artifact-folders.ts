/**
 * Unpacked artifacts, one folder each, named by the archive's digest. The first use deletes folders that another process left in
 * the root. In Lambda that is an earlier process of the same execution environment that crashed.
 */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { validateArchive, sha256 } from '../artifact/archive-rules.ts';
import { readArchive } from '../artifact/read-archive.ts';
import type { Scope } from '../engine/ids.ts';
import { devKitFolder } from '../ports/bundles.ts';
import type { Artifacts, Manifest } from '../ports/deployments.ts';

export interface FolderLimits {
  readonly deployments: number;
  /** total size of the unpacked files */
  readonly bytes: number;
}

export type OpenedFolder =
  | { readonly kind: 'open'; readonly folder: string }
  | { readonly kind: 'unloadable'; readonly message: string };

const unloadable = (message: string): OpenedFolder => ({ kind: 'unloadable', message });

/** Node loads a `.js` file as an ES module only if the nearest package.json says so. */
const packageFile = { path: 'package.json', content: '{"type":"module"}\n' };
/** Beside the bundles of version 4 of the Workflow DevKit, which are CommonJS. */
const commonJsPackageFile = { path: `${devKitFolder}/package.json`, content: '{"type":"commonjs"}\n' };

export class ArtifactFolders {
  readonly #artifacts: Artifacts;
  readonly #root: string;
  readonly #limits: FolderLimits;
  /** bytes by digest, least recently used first */
  readonly #sizes = new Map<string, number>();
  readonly #opening = new Map<string, Promise<OpenedFolder>>();
  /** the last change of the folders; the next change waits for it */
  #lastChange: Promise<unknown> = Promise.resolve();
  #isClean = false;

  constructor(artifacts: Artifacts, root: string, limits: FolderLimits) {
    this.#artifacts = artifacts;
    this.#root = root;
    this.#limits = limits;
  }

  /** Concurrent calls share one load. @throws Unavailable when the artifact store cannot be read now */
  async open(scope: Scope, manifest: Manifest): Promise<OpenedFolder> {
    const digest = manifest.artifact.sha256;
    const bytes = this.#sizes.get(digest);
    if (bytes !== undefined) {
      this.#sizes.delete(digest);
      this.#sizes.set(digest, bytes);
      return { kind: 'open', folder: this.#folder(digest) };
    }
    const opening = this.#opening.get(digest) ?? this.#load(scope, manifest).finally(() => this.#opening.delete(digest));
    this.#opening.set(digest, opening);
    return opening;
  }

  get isOverLimit(): boolean {
    const bytes = [...this.#sizes.values()].reduce((sum, one) => sum + one, 0);
    return this.#sizes.size > this.#limits.deployments || bytes > this.#limits.bytes;
  }

  /** Removes the least recently used folders that are not in use, until the rest is within the limits. */
  evict(isInUse: (digest: string) => boolean): Promise<void> {
    return this.#serialize(async () => {
      for (const digest of this.#sizes.keys()) {
        if (!this.isOverLimit) return;
        if (isInUse(digest)) continue;
        this.#sizes.delete(digest);
        await rm(this.#folder(digest), { recursive: true, force: true });
      }
    });
  }

  /** Runs changes one at a time, because a removal and a load may concern the same folder. */
  #serialize<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#lastChange.then(change);
    this.#lastChange = result.catch(() => {});
    return result;
  }

  #folder(digest: string): string {
    return join(this.#root, digest);
  }

  async #load(scope: Scope, manifest: Manifest): Promise<OpenedFolder> {
    const { deploymentId, artifact, files: manifestFiles, devkit } = manifest;
    const bytes = await this.#artifacts.read({ scope, deploymentId, sha256: artifact.sha256 }, artifact.bytes);
    if (bytes === undefined) return unloadable('the artifact is deleted');
    if (bytes === 'too_large') return unloadable('the artifact is larger than its manifest says');
    if (sha256(bytes) !== artifact.sha256) return unloadable('the digest of the artifact differs from its manifest');
    const archive = await readArchive(bytes);
    if (archive.kind === 'refused') return unloadable(`the artifact cannot be unpacked: ${archive.message}`);
    const [finding] = validateArchive(archive.files, manifestFiles);
    if (finding !== undefined) return unloadable(`the artifact differs from its manifest: ${finding.path}: ${finding.message}`);
    const files = [packageFile, ...(devkit?.format === 'commonjs' ? [commonJsPackageFile] : [])].map(
      ({ path, content }) => [path, Buffer.from(content)] as const,
    );
    // Those of the archive come last, so that its own package.json counts.
    await this.#serialize(() => this.#unpack(artifact.sha256, new Map([...files, ...archive.files])));
    return { kind: 'open', folder: this.#folder(artifact.sha256) };
  }

  /** Unpacks to a temporary folder and renames it, so that a folder named by a digest is always complete. */
  async #unpack(digest: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
    if (!this.#isClean) await this.#clean();
    const temporary = await mkdtemp(join(this.#root, 'new-'));
    try {
      for (const [path, content] of files) {
        await mkdir(dirname(join(temporary, path)), { recursive: true });
        await writeFile(join(temporary, path), content);
      }
      await rename(temporary, this.#folder(digest));
    } catch (error) {
      await rm(temporary, { recursive: true, force: true });
      throw error;
    }
    this.#sizes.set(
      digest,
      [...files.values()].reduce((sum, content) => sum + content.byteLength, 0),
    );
  }

  async #clean(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
    // Readable by this user only: outside of Lambda the temporary folder is shared.
    await mkdir(this.#root, { mode: 0o700 });
    this.#isClean = true;
  }
}
