/** Reads the documented environment variables, and prevents a start with a wrong one. An empty variable counts as absent. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface HostFacts {
  /** runs execute elsewhere, so the application accepts no queue callbacks */
  readonly isRemote: boolean;
  /** in production some warnings become refusals */
  readonly isProduction: boolean;
  readonly targetWorld: string | null;
  readonly expectedTargetWorld: string;
  readonly diagnosticsToken: string | undefined;
}

export const defaultTargetWorld = 'workflow-studio/world-remote';
export const tokenVariable = 'WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN';
export const expectedWorldVariable = 'WORKFLOW_STUDIO_REMOTE_WORLD_TARGET';
export const modeVariable = 'WORKFLOW_EXECUTION_MODE';

const readVariable = (env: Environment, name: string): string | undefined => env[name] || undefined;

/** @param mode takes precedence over the environment, as an adapter's options do */
export const hostFacts = (env: Environment, mode: string | undefined = readVariable(env, modeVariable)): HostFacts => ({
  isRemote: mode === 'remote',
  isProduction: env['NODE_ENV'] === 'production',
  targetWorld: readVariable(env, 'WORKFLOW_TARGET_WORLD') ?? null,
  expectedTargetWorld: readVariable(env, expectedWorldVariable) ?? defaultTargetWorld,
  diagnosticsToken: readVariable(env, tokenVariable),
});

/** Prevents the start of a process that would execute runs in the wrong place. */
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
