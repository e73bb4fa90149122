/** Deployments: uploaded artifacts, the pointer to the active one, and the runs that pin a deployment. */
import type { DeploymentId, KeyId, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

/** One file of an artifact, as its manifest declares it. */
export interface ManifestFile {
  /** relative, with forward slashes */
  readonly path: string;
  /** SHA-256 in hex */
  readonly sha256: string;
  readonly bytes: number;
}

/** `bundle`: bundles that export `POST(Request) → Response`. `code`: one module that exports workflows, which are replayed. */
export const runtimes = ['bundle', 'code'] as const;

/** The description of an artifact. Immutable after its creation. */
export interface Manifest {
  readonly deploymentId: DeploymentId;
  readonly specVersion: 1;
  readonly runtime: (typeof runtimes)[number];
  /** Only `code` has a `version`, chosen by its author. If several have one name, runs start with the last. */
  readonly workflows: readonly {
    readonly name: string;
    readonly version?: string;
    /** only for `code`, if its author declares one */ readonly deadlineSeconds?: number;
  }[];
  readonly steps: readonly { readonly name: string }[];
  readonly files: readonly ManifestFile[];
  readonly artifact: { readonly sha256: string; readonly bytes: number };
}

export interface Deployment {
  readonly manifest: Manifest;
  readonly createdAt: Instant;
  readonly createdBy: KeyId | null;
  /** when the artifact was read and found to match the manifest */
  readonly verifiedAt?: Instant;
  /** the last activation */
  readonly activatedAt?: Instant;
  /** the removal has begun: no run starts on this deployment any more */
  readonly removingSince?: Instant;
}

/** A change of the active pointer. */
export interface Activation {
  readonly deploymentId: DeploymentId;
  readonly at: Instant;
  readonly by: KeyId | null;
  /** the request was a rollback */
  readonly isRollback?: true;
}

/** The one pointer of a scope. */
export interface ActivePointer {
  /** counts changes from 1; a change names the revision that it replaces */
  readonly revision: number;
  /** newest first, with the current one; empty until the first activation */
  readonly history: readonly Activation[];
}

/** Older activations are in the audit trail only. */
export const maxActivationHistory = 50;

export interface DeploymentPosition {
  readonly createdAt: Instant;
  readonly deploymentId: DeploymentId;
}

export interface DeploymentPage {
  readonly deployments: readonly Deployment[];
  readonly next?: DeploymentPosition;
}

export interface PinnedRun {
  readonly runId: RunId;
  readonly since: Instant;
}

/** Every read is strongly consistent. */
export interface Deployments {
  /** Writes the deployment if its id is free in the scope. */
  create(scope: Scope, deployment: Deployment): Promise<'stored' | 'occupied'>;
  deployment(scope: Scope, id: DeploymentId): Promise<Deployment | undefined>;
  /** Newest first. */
  list(scope: Scope, options: { readonly limit: number; readonly after?: DeploymentPosition }): Promise<DeploymentPage>;
  markVerified(scope: Scope, id: DeploymentId, at: Instant): Promise<void>;
  markActivated(scope: Scope, id: DeploymentId, at: Instant): Promise<void>;
  /** Begins the removal (an instant), or reverts it (null). */
  setRemoving(scope: Scope, id: DeploymentId, since: Instant | null): Promise<void>;
  /** Deletes the deployment. Its id stays reserved, so that no id ever means two artifacts. */
  remove(scope: Scope, id: DeploymentId, at: Instant): Promise<void>;

  pointer(scope: Scope): Promise<ActivePointer | undefined>;
  /** Writes the pointer if its revision is still `from` (0: no pointer exists yet). */
  movePointer(scope: Scope, from: number, pointer: ActivePointer): Promise<boolean>;

  /** Pins the deployment for a run, before the run exists. The pin expires with the run. Idempotent. */
  pin(
    scope: Scope,
    id: DeploymentId,
    runId: RunId,
    options: { readonly since: Instant; readonly expiresAt: Instant },
  ): Promise<void>;
  /** Moves the expiry of the pin, if the run still has it. */
  extendPin(
    scope: Scope,
    id: DeploymentId,
    runId: RunId,
    options: { readonly since: Instant; readonly expiresAt: Instant },
  ): Promise<void>;
  /** Removes the pin. */
  unpin(scope: Scope, id: DeploymentId, runId: RunId): Promise<void>;
  /** At most `limit` of the runs that pin the deployment, with the times of their pins. */
  pinnedRuns(scope: Scope, id: DeploymentId, limit: number): Promise<readonly PinnedRun[]>;
}

export const activeDeploymentIn = (pointer: ActivePointer | undefined): DeploymentId | undefined =>
  pointer?.history[0]?.deploymentId;

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

/** Archives of deployments. A client uploads each archive once; the functions that run the deployment read it. */
export interface Artifacts {
  /** A signed URL to which a client uploads the archive until `expiresAt`. */
  presignUpload(name: ArtifactName, bytes: number, expiresAt: Instant): Promise<PresignedUpload>;
  put(name: ArtifactName, content: Uint8Array): Promise<void>;
  /** The archive, or undefined if none was uploaded. A larger archive than `maxBytes` (the manifest's size) is not read. */
  read(name: ArtifactName, maxBytes: number): Promise<Uint8Array | 'too_large' | undefined>;
  remove(name: ArtifactName): Promise<void>;
}

export interface DeploymentPorts {
  readonly deployments: Deployments;
  readonly artifacts: Artifacts;
}
