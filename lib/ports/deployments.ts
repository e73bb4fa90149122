/** Uploaded artifacts, the pointer to the active one, and which runs hold on to which. */
import type { DeploymentId, KeyId, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';

/** One file of an artifact, as its manifest promises it. */
export interface ManifestFile {
  /** relative, with forward slashes */
  readonly path: string;
  /** SHA-256 in hex */
  readonly sha256: string;
  readonly bytes: number;
}

/** `bundle`: bundles that export `POST(Request) → Response`. `code`: one module that exports workflows, which are replayed. */
export const runtimes = ['bundle', 'code'] as const;

/** What an artifact says of itself. Immutable once it is created. */
export interface Manifest {
  readonly deploymentId: DeploymentId;
  readonly specVersion: 1;
  readonly runtime: (typeof runtimes)[number];
  /** `version` only of code: as its author named it. Of one name, the last one is the one that runs start with. */
  readonly workflows: readonly { readonly name: string; readonly version?: string }[];
  readonly steps: readonly { readonly name: string }[];
  readonly files: readonly ManifestFile[];
  readonly artifact: { readonly sha256: string; readonly bytes: number };
}

export interface Deployment {
  readonly manifest: Manifest;
  readonly createdAt: Instant;
  readonly createdBy: KeyId | null;
  /** its artifact was read and is what the manifest says */
  readonly verifiedAt?: Instant;
  /** the last time it was made the active one */
  readonly activatedAt?: Instant;
  /** its removal has begun: no run starts on it any more */
  readonly removingSince?: Instant;
}

/** A change of the pointer. */
export interface Activation {
  readonly deploymentId: DeploymentId;
  readonly at: Instant;
  readonly by: KeyId | null;
  /** whoever asked went back to it */
  readonly isRollback?: true;
}

/** The one pointer of a scope. */
export interface ActivePointer {
  /** counts changes from 1; a change names the revision it was decided on */
  readonly revision: number;
  /** newest first, the standing one included; empty until the first activation */
  readonly history: readonly Activation[];
}

/** Older changes are in the audit trail. */
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

/** Every read is strong. */
export interface Deployments {
  /** Writes the deployment on the condition that its id is free in the scope. */
  create(scope: Scope, deployment: Deployment): Promise<'stored' | 'occupied'>;
  deployment(scope: Scope, id: DeploymentId): Promise<Deployment | undefined>;
  /** Newest first. */
  list(scope: Scope, options: { readonly limit: number; readonly after?: DeploymentPosition }): Promise<DeploymentPage>;
  markVerified(scope: Scope, id: DeploymentId, at: Instant): Promise<void>;
  markActivated(scope: Scope, id: DeploymentId, at: Instant): Promise<void>;
  /** Begins the removal (an instant), or takes it back (null). */
  setRemoving(scope: Scope, id: DeploymentId, since: Instant | null): Promise<void>;
  /** Forgets the deployment; its id stays taken for ever, so that no id ever means two artifacts. */
  remove(scope: Scope, id: DeploymentId, at: Instant): Promise<void>;

  pointer(scope: Scope): Promise<ActivePointer | undefined>;
  /** Writes the pointer on the condition that its revision is still `from` (0: there is none yet). */
  movePointer(scope: Scope, from: number, pointer: ActivePointer): Promise<boolean>;

  /** Says that a run holds on to the deployment, before the run exists; expires with the run. Twice is once. */
  pin(
    scope: Scope,
    id: DeploymentId,
    runId: RunId,
    options: { readonly since: Instant; readonly expiresAt: Instant },
  ): Promise<void>;
  /** Says that it does so no longer. */
  unpin(scope: Scope, id: DeploymentId, runId: RunId): Promise<void>;
  /** Some of the runs that hold on to it, and since when. */
  pinnedRuns(scope: Scope, id: DeploymentId, limit: number): Promise<readonly PinnedRun[]>;
}

export const activeDeploymentIn = (pointer: ActivePointer | undefined): DeploymentId | undefined =>
  pointer?.history[0]?.deploymentId;
