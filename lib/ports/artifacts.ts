/** The archives of deployments: uploaded once under the deployment's own name, read by whoever runs it. */
import type { DeploymentId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

export interface ArtifactName {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  /** SHA-256 of the archive, in hex: part of its name, and what an upload must have */
  readonly sha256: string;
}

export interface PresignedUpload {
  readonly method: 'PUT';
  readonly url: string;
  /** to be sent exactly so; the upload is refused without them, or with other bytes than the digest says */
  readonly headers: Readonly<Record<string, string>>;
  readonly expiresAt: Instant;
}

export interface Artifacts {
  /** Where to put the archive, good until `expiresAt`. */
  presignUpload(name: ArtifactName, bytes: number, expiresAt: Instant): Promise<PresignedUpload>;
  put(name: ArtifactName, content: Uint8Array): Promise<void>;
  /** The archive; undefined where none was uploaded. `maxBytes` is what the manifest promised: more is not read. */
  read(name: ArtifactName, maxBytes: number): Promise<Uint8Array | 'too_large' | undefined>;
  remove(name: ArtifactName): Promise<void>;
}
