/** Stops a process that would carry out runs in the wrong place before it takes its first request. */
import { type Environment, expectedWorldVariable, hostFacts } from './environment.ts';

export class RemoteTargetGuardError extends Error {
  override readonly name = 'RemoteTargetGuardError';
}

/**
 * To be called where the process starts. It does nothing unless the mode is `remote` and `NODE_ENV` is `production`.
 * @param executionMode goes before WORKFLOW_EXECUTION_MODE
 * @throws RemoteTargetGuardError where WORKFLOW_TARGET_WORLD is not what it must be
 */
export const enforceRemoteTargetGuard = (env: Environment, executionMode?: 'local' | 'remote'): void => {
  const { isRemote, isProduction, targetWorld, expectedTargetWorld } = hostFacts(env, executionMode);
  if (!isRemote || !isProduction || targetWorld === expectedTargetWorld) return;
  const found = targetWorld === null ? 'it is not set' : `it is "${targetWorld}"`;
  throw new RemoteTargetGuardError(
    `Remote execution guard failed: WORKFLOW_TARGET_WORLD must equal "${expectedTargetWorld}", and ${found}. ` +
      `Set it, or say in ${expectedWorldVariable} which world is meant.`,
  );
};
