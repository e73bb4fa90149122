/** Wires the function of the World, which does what this process may not do. */
import { functionClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { ReconcilerFunction } from '../../lib/aws/child-reconciler.ts';
import { WorldFunction } from '../../lib/aws/world-function.ts';
import type { ChildReconciler } from '../../lib/ports/jobs.ts';
import type { WorldCalls } from '../../lib/ports/world-calls.ts';

/** Serves calls of deployed code about other runs; undefined where the process has no function for them. */
export function worldFunction(): WorldCalls | undefined {
  const name = settingsFrom(process.env).worldFunction;
  return name === undefined ? undefined : new WorldFunction(functionClient(), name);
}

/**
 * Reconciles runs of code with the runs that they call; undefined where the process has no function for them.
 * @param report takes why a message replaces a call
 */
export function childReconciler(report: (reason: unknown) => void): ChildReconciler | undefined {
  const name = settingsFrom(process.env).worldFunction;
  return name === undefined ? undefined : new ReconcilerFunction(functionClient(), name, report);
}

/** Whether the function of the World has keys of runs. */
export const encryptsRuns = (): boolean => settingsFrom(process.env).encryptsRuns;
