/** The head: commit 1 of a run and, beside it, a projection that may be late and never wrong about an ending. */
import { type CommitNo, type DeploymentId, type RunAddress, firstCommit } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { Instant } from '../time.ts';
import type { Trace } from '../trace.ts';
import type { CarriedGraph, Commit, PinnedVersion } from './commit.ts';
import type { Failure } from './events.ts';

export const runStatuses = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];
export const terminalStatuses = ['completed', 'failed', 'cancelled'] as const satisfies readonly RunStatus[];
export type TerminalStatus = (typeof terminalStatuses)[number];

/** What a run was made from and under which terms; written once, with commit 1. */
interface RunCreationBase {
  readonly address: RunAddress;
  readonly createdAt: Instant;
  /** the run fails here if it has not ended */
  readonly deadlineAt: Instant;
  /** when the run's first jobs may be taken; absent: at once */
  readonly availableAt?: Instant;
  /** when its items may be forgotten: `expiryOf` */
  readonly expiresAt: Instant;
  /** SHA-256 of the caller's canonical body, in hex */
  readonly bodyHash: string;
  /** of the request that asked for the run; absent in runs that were made before requests were traced */
  readonly trace?: Trace;
  readonly commit: Commit;
}

/** A drawn graph, pinned to a version. */
export interface GraphCreation extends RunCreationBase {
  readonly kind: 'graph';
  readonly workflow: PinnedVersion;
  readonly deploymentId: null;
  /** a test of a graph that nobody has published, which the run carries itself as version 0; or a run that a test called */
  readonly isTest?: true;
}

/** The code of a deployment, pinned to it; it is given messages. */
export interface BundleCreation extends RunCreationBase {
  readonly kind: 'bundle';
  readonly workflow: { readonly name: string };
  readonly deploymentId: DeploymentId;
}

/** A workflow written as code, of a deployment that it is pinned to; it is replayed. */
export interface CodeCreation extends RunCreationBase {
  readonly kind: 'code';
  /** `version` as its author named it; absent where they did not */
  readonly workflow: { readonly name: string; readonly version?: string };
  readonly deploymentId: DeploymentId;
}

export type RunCreation = GraphCreation | BundleCreation | CodeCreation;

export const isTestRun = (run: RunCreation): boolean => run.kind === 'graph' && run.isTest === true;

/** Versions that are published are counted from 1. */
export const carriesGraph = (run: RunCreation): boolean =>
  run.kind === 'graph' && run.isTest === true && run.workflow.version === 0;

/** What a graph run is pinned to. Whoever holds a node's job, or a result, holds a graph run's. */
export function pinnedVersion(run: RunCreation): PinnedVersion | CarriedGraph {
  invariant(run.kind === 'graph', `${run.address.runId} is no run of a graph`);
  return carriesGraph(run) ? { ...run.workflow, carriedBy: run.address } : run.workflow;
}

/** What lists show. Every write of it names the commit it was made from, and an older one never wins. */
export interface HeadProjection {
  readonly status: RunStatus;
  readonly asOf: CommitNo;
  /** makes an open run findable by what it waits for; absent in a run that just runs */
  readonly attention?: 'waiting' | 'retrying';
  readonly endedAt?: Instant;
  readonly error?: Failure;
}

/** What a store projects of a run that was just created. */
export const firstProjection: HeadProjection = { status: 'pending', asOf: firstCommit };

interface Projected {
  readonly projection: HeadProjection;
}
export type GraphHead = GraphCreation & Projected;
export type BundleHead = BundleCreation & Projected;
export type CodeHead = CodeCreation & Projected;
export type Head = GraphHead | BundleHead | CodeHead;

/** What the run was made from, without what is known of it since. */
export function creationOf<Of extends RunCreation>(head: Of & Projected): Omit<Of & Projected, 'projection'> {
  const { projection: _projection, ...creation } = head;
  return creation;
}
