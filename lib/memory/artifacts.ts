/** Artifacts in memory. An upload's URL is a name; `receive` stores an upload. */
import type { Instant } from '../engine/time.ts';
import type { ArtifactName, Artifacts, PresignedUpload } from '../ports/artifacts.ts';
import { scopeName } from './runs.ts';

export class MemoryArtifacts implements Artifacts {
  readonly #archives = new Map<string, Uint8Array>();

  async presignUpload(name: ArtifactName, bytes: number, expiresAt: Instant): Promise<PresignedUpload> {
    return { method: 'PUT', url: `memory:${nameOf(name)}`, headers: { 'content-length': String(bytes) }, expiresAt };
  }

  async put(name: ArtifactName, content: Uint8Array): Promise<void> {
    this.receive(`memory:${nameOf(name)}`, content);
  }

  async read(name: ArtifactName, limitBytes: number): Promise<Uint8Array | 'too_large' | undefined> {
    const content = this.#archives.get(`memory:${nameOf(name)}`);
    return content !== undefined && content.byteLength > limitBytes ? 'too_large' : content?.slice();
  }

  async remove(name: ArtifactName): Promise<void> {
    this.#archives.delete(`memory:${nameOf(name)}`);
  }

  /** Stores an upload without validation. */
  receive(url: string, content: Uint8Array): void {
    this.#archives.set(url, content.slice());
  }
}

const nameOf = ({ scope, deploymentId, sha256 }: ArtifactName): string => `${scopeName(scope)}/${deploymentId}/${sha256}`;
