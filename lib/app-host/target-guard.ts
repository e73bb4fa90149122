/** Prevents the start of a process that would execute runs in the wrong place. */
import { type Environment, expectedWorldVariable, hostFacts } from './environment.ts';

export class RemoteTargetGuardError extends Error {
  override readonly name = 'RemoteTargetGuardError';
}

/**
 * Call it where the process starts. It has no effect unless the mode is `remote` and `NODE_ENV` is `production`.
 * @param executionMode takes precedence over WORKFLOW_EXECUTION_MODE
 * @throws RemoteTargetGuardError where WORKFLOW_TARGET_WORLD has another value than expected
 */
export const enforceRemoteTargetGuard = (env: Environment, executionMode?: 'local' | 'remote'): void => {
  const { isRemote, isProduction, targetWorld, expectedTargetWorld } = hostFacts(env, executionMode);
  if (!isRemote || !isProduction || targetWorld === expectedTargetWorld) return;
  const found = targetWorld === null ? 'it is not set' : `it is "${targetWorld}"`;
  throw new RemoteTargetGuardError(
    `Remote execution guard failed: WORKFLOW_TARGET_WORLD must equal "${expectedTargetWorld}", and ${found}. ` +
      `Set it, or set ${expectedWorldVariable} to the expected world.`,
  );
};
