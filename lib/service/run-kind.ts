/**
 * A run kind is one interface: how its runs are created, decided, recovered, changed by requests and presented. The table of
 * all kinds is `kinds/run-kinds.ts`. The use cases receive it in their decider, so that they depend on the interface and not on the kinds.
 */
import type { Fact } from '../engine/graph/facts.ts';
import type { Attempt, CommitNo, NodeRef } from '../engine/ids.ts';
import type { RunState } from '../engine/log/fold.ts';
import type { Head } from '../engine/log/head.ts';
import type { Decision } from './commit/append-facts.ts';
import type { Decider } from './decider.ts';
import type { Recovery } from './execution/recover-run.ts';
import type { NotPrepared, PrepareTerms, PreparedRun, ResolvedByKind } from './new-run.ts';
import type { AppendResult } from './run-log/append.ts';
import type { RunFold } from './run-log/read-run-fold.ts';
import type { PresentedNodes } from './runs/get-run.ts';
import type { RerunRequest, ResolvedRerun } from './runs/rerun-run.ts';
import type { ResumeTerms } from './runs/resume-run.ts';
import type { WakeRequest, WakeResult } from './runs/wake-run.ts';
import type { Executions } from './worker.ts';

export type KindName = Head['kind'];
type HeadOf<Kind extends KindName> = Extract<Head, { readonly kind: Kind }>;
export type FoldOf<Kind extends KindName> = RunFold & { readonly head: HeadOf<Kind> };

/** Exhaustive: a kind of head without an entry, and an entry that lacks a member, do not compile. */
export type RunKinds = { readonly [Kind in KindName]: RunKind<Kind> };

export interface RunKind<Kind extends KindName = KindName> {
  /** Prepares the first commit of a run. Repeated attempts of a start prepare the same run. */
  create(decider: Decider, resolved: ResolvedByKind[Kind], terms: PrepareTerms): Promise<PreparedRun | NotPrepared>;

  /** How facts about a run become events. The decision reads the fold again at each attempt at a commit. */
  decide(decider: Decider, fold: RunFold): Promise<Decision<Fact>>;
  /**
   * Who registers the signal waits of a run and stores the signals that it sends: the process that commits, or the worker after a message.
   * The function that runs deployed code has no permission to write to the signal store, because that store affects other runs.
   */
  readonly signals: 'direct' | 'by_message';

  /** The job for an open node. @param resend 0 for the first send */
  jobOf(head: HeadOf<Kind>, commit: CommitNo, attempt: AttemptRef, resend?: number): Executions[Kind]['job'];
  /** Recovers an open run whose messages may be lost; absent: its nodes are recovered one by one. */
  recover?(decider: Decider, fold: FoldOf<Kind>): Promise<Recovery>;

  /** The progress that the attempt of a node shows besides its end, as a number of ended nodes; 0 where other nodes show none. */
  countEndedNodes(state: RunState): number;
  /** Whether its runs may wait for a concurrency slot. The log of a code run is written by its own code, so it is not trusted there. */
  readonly hasSlots: boolean;

  /** Commits the resumption. @param resumption `idSeed` determines the id of a message, so that a repeated request sends it once */
  resume(decider: Decider, fold: FoldOf<Kind>, resumption: ResumeTerms): Promise<AppendResult>;
  /** Wakes sleeping nodes of an open run before their time, or retries nodes in backoff now. */
  wake(decider: Decider, fold: FoldOf<Kind>, request: WakeRequest): Promise<WakeResult>;
  /** Maximum number of nodes that one commit wakes. */
  readonly maxWakesPerCommit: number;
  /** Finds what a rerun of the run starts. */
  resolveRerun(decider: Decider, head: HeadOf<Kind>, request: RerunRequest): Promise<ResolvedRerun>;

  /** The nodes to show, in their order. */
  present(decider: Pick<Decider, 'deps' | 'plans'>, fold: RunFold): Promise<PresentedNodes>;
  /** `workflowVersion` counts published graphs; `version` is the author's text, and undefined where there is none to declare. */
  versionsOf(head: HeadOf<Kind>): { readonly workflowVersion: number | null; readonly version?: string | null };
  /** Whether executions and tokens are counted. */
  readonly countsUsage: boolean;
}

export interface AttemptRef extends NodeRef {
  readonly attempt: Attempt;
}
