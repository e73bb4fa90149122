/** What a start resolved, and what its kind prepared of it: the input and the result of `RunKind.create`. */
import type { UnsavedGraph } from '../codec/definition.ts';
import type { DeadlineTerms } from '../engine/deadline.ts';
import type { CopiedEntry } from '../engine/durable/rerun-from-step.ts';
import type { WorkflowVersion } from '../engine/graph/definition.ts';
import type { ReusedNode } from '../engine/graph/rerun-from.ts';
import type { DeploymentId, NodeId, RunAddress } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import type { RunEvent } from '../engine/log/events.ts';
import type { BundleCreation, CodeCreation, DevKitCreation, GraphCreation, RunCreation } from '../engine/log/head.ts';
import type { WorldRequest } from '../engine/devkit/decide.ts';
import type { WorkJob } from '../ports/jobs.ts';
import type { Instant } from '../engine/time.ts';
import type { NodeTypeOf } from './commit/append-facts.ts';
import type { ServedWorkflow } from './deployments/find-ready-deployment.ts';

/** What to run, with an input that the version accepted. */
export type Resolved = ResolvedGraph | ResolvedCode | ResolvedDevKit;

interface Found {
  readonly kind: 'found';
  readonly input: JsonValue;
  /** system values for the run's first commit */
  readonly system?: Readonly<Record<string, JsonValue>>;
}

export interface ResolvedGraph extends Found {
  readonly version: WorkflowVersion;
  /** the run starts from this node and reuses these results of an earlier run */
  readonly startFrom?: { readonly from: NodeId; readonly reused: readonly ReusedNode[] };
  /** a test run: it carries this graph, has version 0 and expires early */
  readonly unsaved?: UnsavedGraph;
  /** a test run called it, so it is a test run too */
  readonly isTestChild?: true;
}

/** `runtime` is the kind of the run. */
export interface ResolvedCode extends Found, ServedWorkflow {
  readonly deploymentId: DeploymentId;
  /** the run continues the log of an earlier run; only for a code run */
  readonly copied?: { readonly from: RunAddress; readonly entries: readonly CopiedEntry[] };
}

/** A run of the Workflow DevKit. Its input is a part of its first event. */
export interface ResolvedDevKit extends Found {
  readonly runtime: 'devkit';
  readonly workflowName: string;
  readonly deploymentId: DeploymentId;
  /** the event that creates it */
  readonly request: WorldRequest;
  /** the platform starts it; otherwise the application sends its first message */
  readonly sendsFirst?: true;
}

export interface ResolvedByKind {
  readonly graph: ResolvedGraph;
  readonly code: ResolvedCode;
  readonly bundle: ResolvedCode;
  readonly devkit: ResolvedDevKit;
}

export const isTest = (resolved: Resolved): boolean =>
  'version' in resolved && (resolved.unsaved !== undefined || resolved.isTestChild === true);

export type NotPrepared =
  /** the deployment's removal has begun meanwhile */
  | { readonly kind: 'deployment_not_found'; readonly deploymentId: DeploymentId }
  /** the reused results do not lead to the node to start from */
  | { readonly kind: 'node_not_reached' };

export interface PrepareTerms {
  readonly address: RunAddress;
  readonly now: Instant;
  readonly deadline: DeadlineTerms;
  readonly expiresAt: Instant;
  readonly startsAt: Instant | undefined;
  /** the caller runs one job of the first commit, so no queue gets it */
  readonly runsOneInline: boolean;
}

/** A job of the first commit of a run. */
export type FirstJob = WorkJob;

/** The kind-specific part of a run, and its first events. */
export interface PreparedRun {
  readonly created:
    | Pick<GraphCreation, 'kind' | 'workflow' | 'deploymentId' | 'isTest' | 'holdsSecondCommit'>
    | Pick<BundleCreation, 'kind' | 'workflow' | 'deploymentId'>
    | Pick<CodeCreation, 'kind' | 'workflow' | 'deploymentId'>
    | Pick<DevKitCreation, 'kind' | 'workflow' | 'deploymentId' | 'queueNamespace'>;
  /** messages to send once the run exists, besides those that its events cause */
  readonly firstJobs?: (creation: RunCreation) => readonly WorkJob[];
  readonly events: readonly RunEvent[];
  /** the events of the commits after the first that exist from the beginning: the copied log of an earlier run */
  readonly copied?: readonly (readonly RunEvent[])[];
  /** only for a graph run */
  readonly nodeTypeOf?: NodeTypeOf;
  /** The first commit has no effect but one job without side effects, for the caller. It may run before the head is written. */
  readonly beginsWithScript?: true;
}
