/** Deployments: uploaded artifacts, the pointer to the active one, and the runs that pin a deployment. */
import { type AppName, type DeploymentId, type KeyId, type RunId, type Scope, appName } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { PresignedUpload } from './uploads.ts';

/** One file of an artifact, as its manifest declares it. */
export interface ManifestFile {
  /** relative, with forward slashes */
  readonly path: string;
  /** SHA-256 in hex */
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * `bundle`: bundles that export `POST(Request) → Response`. `code`: one module that exports workflows, which are replayed. `devkit`: what
 * the builder of the Workflow DevKit writes.
 */
export const runtimes = ['bundle', 'code', 'devkit'] as const;

/** The app of a manifest that names none. */
export const defaultApp = appName('default');

/** What an app of the Workflow DevKit is built with. */
export interface DevKitBuild {
  /** of the package `workflow`, such as `4.8.9` */
  readonly sdkVersion: string;
  /** of the protocol between the SDK and its World */
  readonly specVersion: number;
  /** on which the app was built, such as `24.1.0` */
  readonly nodeVersion: string;
  readonly format: 'module' | 'commonjs';
  /** in the names of the queues whose messages the code takes: its variable WORKFLOW_QUEUE_NAMESPACE */
  readonly queueNamespace?: string;
}

/** The description of an artifact. Immutable after its creation. */
export interface Manifest {
  readonly deploymentId: DeploymentId;
  readonly specVersion: 1;
  /** the project that the artifact comes from; an activation replaces the app's active deployment only */
  readonly app: AppName;
  readonly runtime: (typeof runtimes)[number];
  /** Only `code` has a `version`, chosen by its author. If several have one name, runs start with the last. */
  readonly workflows: readonly {
    readonly name: string;
    readonly version?: string;
    /** only for `code`, if its author declares one */ readonly deadlineSeconds?: number;
  }[];
  readonly steps: readonly { readonly name: string }[];
  /** only and always for `devkit` */
  readonly devkit?: DevKitBuild;
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

/** A change of the active deployment of an app. */
export interface Activation {
  readonly deploymentId: DeploymentId;
  readonly at: Instant;
  readonly by: KeyId | null;
  /** the request was a rollback */
  readonly isRollback?: true;
}

/** An app with an active deployment. */
export interface ActiveApp {
  readonly app: AppName;
  /** the workflows of the active deployment; no two apps of a scope have the same */
  readonly workflows: readonly string[];
  /** newest first, with the current one */
  readonly history: readonly [Activation, ...Activation[]];
}

/** The one pointer of a scope. One record for all apps, so that one conditional write keeps the names of workflows unique. */
export interface ActivePointer {
  /** counts changes of all apps from 1; a change names the revision that it replaces */
  readonly revision: number;
  /** by name, ascending */
  readonly apps: readonly ActiveApp[];
}

/** For each app. Older activations are in the audit trail only. */
export const maxActivationHistory = 20;
/** The pointer is one item, and DynamoDB limits an item to 400 KB. In characters of its JSON. */
export const maxPointerLength = 300_000;

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

/** The app in the pointer; undefined if it has no active deployment. */
export const activeApp = (pointer: ActivePointer | undefined, app: AppName): ActiveApp | undefined =>
  pointer?.apps.find((one) => one.app === app);

/** The app whose active deployment has the workflow. */
export const appServing = (pointer: ActivePointer | undefined, workflow: string): ActiveApp | undefined =>
  pointer?.apps.find(({ workflows }) => workflows.includes(workflow));

/** The active deployments of all apps. */
export const activeDeploymentsIn = (pointer: ActivePointer | undefined): ReadonlySet<DeploymentId> =>
  new Set(pointer?.apps.map(({ history: [current] }) => current.deploymentId));

/** The pointer after an activation of this deployment. */
export function pointerAfter(
  pointer: ActivePointer | undefined,
  { app, workflows }: Pick<Manifest, 'app' | 'workflows'>,
  activation: Activation,
): ActivePointer {
  const earlier = activeApp(pointer, app)?.history ?? [];
  const active: ActiveApp = {
    app,
    workflows: [...new Set(workflows.map(({ name }) => name))],
    history: [activation, ...earlier.slice(0, maxActivationHistory - 1)],
  };
  return { ...pointerWithout(pointer, app), apps: [...pointerWithout(pointer, app).apps, active].toSorted(byName) };
}

/** The pointer after the deactivation of the app. With `undefined` only the revision changes. */
export const pointerWithout = (pointer: ActivePointer | undefined, app: AppName | undefined): ActivePointer => ({
  revision: (pointer?.revision ?? 0) + 1,
  apps: pointer?.apps.filter((one) => one.app !== app) ?? [],
});

const byName = (one: ActiveApp, other: ActiveApp): number => (one.app < other.app ? -1 : 1);

export interface ArtifactName {
  readonly scope: Scope;
  readonly deploymentId: DeploymentId;
  /** SHA-256 of the archive, in hex. It is part of the name, and an upload must match it. */
  readonly sha256: string;
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
