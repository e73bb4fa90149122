/** What every use case that commits to runs needs: the ports, the plans of graphs and the run kinds. */
import type { Commit } from '../engine/log/commit.ts';
import type { Head } from '../engine/log/head.ts';
import type { Plans } from './commit/plans.ts';
import type { ChildJob } from '../ports/jobs.ts';
import type { KnownDeployments } from './deployments/known-deployments.ts';
import type { Deps } from './deps.ts';
import type { KindName, RunKind, RunKinds } from './run-kind.ts';
import type { RunFold } from './run-log/read-run-fold.ts';

/** What finds a workflow to start; it commits to no run. */
export interface Resolver {
  readonly deps: Deps;
  readonly plans: Plans;
  /** absent: each start reads all that it needs to know of deployed code */
  readonly known?: KnownDeployments;
}

export interface Decider extends Resolver {
  readonly kinds: RunKinds;
  /** the process that commits, recorded for people: `worker`, `api` … */
  readonly by: string;
  /** whether another writer's commit already contains all that this decider would record; by default no commit does */
  readonly isAlreadyRecordedBy?: (commit: Commit) => boolean;
  /** absent: messages request what called runs and their callers need */
  readonly childCalls?: ChildCalls;
}

/** Executes called runs in the process that calls them, or leaves them to a message. */
export interface ChildCalls {
  /** @param fold the caller after the commit with the call. @returns whether the called run is executed here, after this message's work */
  takeCall(fold: RunFold, job: ChildJob): boolean;
  /** Commits the end of the called run to its caller. @returns whether it did */
  takeEnd(child: RunFold, job: ChildJob): Promise<boolean>;
  readonly work: WorkBeside;
}

/** Work that nothing in this process waits for. It ends, or fails, before the message does. */
export interface WorkBeside {
  /** Marks a run that waits for its next check. */
  marksDue(fold: RunFold): void;
  alongside(work: Promise<void>): void;
}

export const kindOf = ({ kinds }: Pick<Decider, 'kinds'>, { kind }: Pick<Head, 'kind'>): RunKind => kindNamed(kinds, kind);

const kindNamed = <Kind extends KindName>(kinds: RunKinds, kind: Kind): RunKind<Kind> => kinds[kind];
