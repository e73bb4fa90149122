/** What runs deployed code, in the code function and in a worker process alike. */
import type { Logger } from '@aws-lambda-powertools/logger';
import { codeWorldOf } from './code-world.ts';
import type { CodeRunner } from './handle-code-job.ts';
import { type CodeHostOptions, createCodeRuntimes } from './wiring.ts';
import { childReconciler, encryptsRuns, worldFunction } from './world-wiring.ts';

/** @param decider takes the heads of runs from the messages of this process */
export function createRunner(
  decider: Omit<CodeRunner, 'bundles' | 'programs' | 'apps'>,
  logger: Logger,
  options: Omit<CodeHostOptions, 'world' | 'reportRefusedMessage'>,
): CodeRunner {
  const world = codeWorldOf(decider, logger, worldFunction(), encryptsRuns());
  const reportRefusedMessage: CodeHostOptions['reportRefusedMessage'] = (fields) =>
    logger.warn('an application did not take a message: the queue delivers it again', fields);
  const reportReplacedCall = (error: unknown): void =>
    logger.warn('the function world did not reconcile a called run: a message does', {
      error: error instanceof Error ? error : String(error),
    });
  const runtimes = createCodeRuntimes(decider.deps, { ...options, world, reportRefusedMessage });
  return { ...decider, reconciler: childReconciler(reportReplacedCall), ...runtimes };
}
