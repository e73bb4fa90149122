/**
 * Artifacts, unpacked: one folder each, named by the archive's digest. The folders of this environment are its own: what
 * another process left is removed at the first use. In Lambda that is an environment whose process broke.
 */
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { validateArchive, sha256 } from '../artifact/validate-archive.ts';
import { readArchive } from '../artifact/read-archive.ts';
import type { Scope } from '../engine/ids.ts';
import type { Artifacts } from '../ports/artifacts.ts';
import type { Manifest } from '../ports/deployments.ts';

export interface FolderLimits {
  readonly deployments: number;
  /** of what was unpacked */
  readonly bytes: number;
}

export type OpenedFolder =
  | { readonly kind: 'open'; readonly folder: string }
  | { readonly kind: 'unloadable'; readonly message: string };

const unloadable = (message: string): OpenedFolder => ({ kind: 'unloadable', message });

/** Node takes a `.js` file for an ES module only where the nearest package.json says so. */
const packageFile = { path: 'package.json', content: '{"type":"module"}\n' };

export class ArtifactFolders {
  readonly #artifacts: Artifacts;
  readonly #root: string;
  readonly #limits: FolderLimits;
  /** bytes by digest, the one used last at the end */
  readonly #sizes = new Map<string, number>();
  readonly #opening = new Map<string, Promise<OpenedFolder>>();
  /** the last change of the folders, after which the next one begins */
  #lastChange: Promise<unknown> = Promise.resolve();
  #isClean = false;

  constructor(artifacts: Artifacts, root: string, limits: FolderLimits) {
    this.#artifacts = artifacts;
    this.#root = root;
    this.#limits = limits;
  }

  /** Throws `Unavailable` where the archive cannot be had now. Whoever asks while it is being loaded gets the same folder. */
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

  /** Removes what was used longest ago and nobody holds, until the rest fits. */
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

  /** No folder is removed while one is made: they may be the same. */
  #serialize<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#lastChange.then(change);
    this.#lastChange = result.catch(() => {});
    return result;
  }

  #folder(digest: string): string {
    return join(this.#root, digest);
  }

  async #load(scope: Scope, manifest: Manifest): Promise<OpenedFolder> {
    const { deploymentId, artifact, files: manifestFiles } = manifest;
    const bytes = await this.#artifacts.read({ scope, deploymentId, sha256: artifact.sha256 }, artifact.bytes);
    if (bytes === undefined) return unloadable('the artifact is gone');
    if (bytes === 'too_large') return unloadable('the artifact is larger than its manifest says');
    if (sha256(bytes) !== artifact.sha256) return unloadable('the digest of the artifact is not what its manifest says');
    const archive = await readArchive(bytes);
    if (archive.kind === 'refused') return unloadable(`the artifact cannot be unpacked: ${archive.message}`);
    const [finding] = validateArchive(archive.files, manifestFiles);
    if (finding !== undefined)
      return unloadable(`the artifact is not what its manifest says: ${finding.path}: ${finding.message}`);
    await this.#serialize(() => this.#unpack(artifact.sha256, archive.files));
    return { kind: 'open', folder: this.#folder(artifact.sha256) };
  }

  /** Beside its place first: a folder under a digest is always whole. */
  async #unpack(digest: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
    if (!this.#isClean) await this.#clean();
    const temporary = await mkdtemp(join(this.#root, 'new-'));
    try {
      // First: an artifact's own takes its place.
      await writeFile(join(temporary, packageFile.path), packageFile.content);
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
    // For this user alone: elsewhere than in Lambda the temporary folder is shared.
    await mkdir(this.#root, { mode: 0o700 });
    this.#isClean = true;
  }
}
