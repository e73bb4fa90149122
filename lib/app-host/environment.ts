/** Reads the documented environment variables. An empty variable counts as absent. */

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
