/** Archives of deployments. A client uploads each archive once; the functions that run the deployment read it. */
import type { DeploymentId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface ArtifactName {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  /** SHA-256 of the archive, in hex. It is part of the name, and an upload must match it. */
  readonly sha256: string;
}

export interface PresignedUpload {
  readonly method: 'PUT';
  readonly url: string;
  /** The client sends exactly these. The store refuses an upload without them, or with bytes of another digest. */
  readonly headers: Readonly<Record<string, string>>;
  readonly expiresAt: Instant;
}

export interface Artifacts {
  /** A signed URL to which a client uploads the archive until `expiresAt`. */
  presignUpload(name: ArtifactName, bytes: number, expiresAt: Instant): Promise<PresignedUpload>;
  put(name: ArtifactName, content: Uint8Array): Promise<void>;
  /** The archive, or undefined if none was uploaded. A larger archive than `maxBytes` (the manifest's size) is not read. */
  read(name: ArtifactName, maxBytes: number): Promise<Uint8Array | 'too_large' | undefined>;
  remove(name: ArtifactName): Promise<void>;
}
