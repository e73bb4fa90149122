/** The interface of a workload: the workflows and clients of a simulation. */
import type { Checker } from './checker.ts';
import type { Functions } from './functions.ts';
import type { SimulationContext } from './process.ts';
import type { SignalChecker } from './signal-checker.ts';
import type { SimulatedPorts } from './simulated-ports.ts';

export interface Workload {
  /** Publishes what there is to run, and sets everything going. */
  begin(): Promise<void>;
  /** everything has been asked for, and every run has ended */
  readonly isQuiet: boolean;
  /** starts without a response */
  readonly waiting: number;
  /** nodes that were woken before their time */
  readonly woken: number;
  /** signals */
  readonly sent: number;
  /** it has lost messages or left them lying, which explains that something was done again */
  readonly isRough?: boolean;
  /** Called when a run begins, also after everything was quiet. */
  runBegan?(): void;
  /** A client may have cancelled it. */
  mayBeCancelled(runId: string): boolean;
  /** judges what it alone knows, after all runs have ended */
  check?(): Promise<void>;
}

export interface WorkloadParts {
  readonly around: SimulationContext;
  readonly world: SimulatedPorts;
  readonly functions: Functions;
  readonly checker: Checker;
  readonly signals: SignalChecker;
}

export type WorkloadOf = (parts: WorkloadParts) => Workload;
