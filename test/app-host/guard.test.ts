/** The guard at the start of a process: it stops only processes that would execute runs in the wrong place. */
import { expect, test } from 'vitest';
import { RemoteTargetGuardError, enforceRemoteTargetGuard } from '../../lib/app-host/index.ts';

const right = {
  NODE_ENV: 'production',
  WORKFLOW_EXECUTION_MODE: 'remote',
  WORKFLOW_TARGET_WORLD: 'workflow-studio/world-remote',
};
const guarded = (change: Record<string, string | undefined>, mode?: 'local' | 'remote') => () =>
  enforceRemoteTargetGuard({ ...right, ...change }, mode);

test('a process with the expected world starts', () => {
  expect(guarded({})).not.toThrow();
});

test.each([
  [{ WORKFLOW_TARGET_WORLD: 'local' }, 'and it is "local"'],
  [{ WORKFLOW_TARGET_WORLD: undefined }, 'and it is not set'],
  [{ WORKFLOW_TARGET_WORLD: '' }, 'and it is not set'],
  [{ WORKFLOW_TARGET_WORLD: ' workflow-studio/world-remote' }, 'and it is " workflow'],
  [{ WORKFLOW_TARGET_WORLD: 'Workflow-Studio/World-Remote' }, 'and it is "Workflow'],
])('%o does not start', (change, said) => {
  expect(guarded(change)).toThrow(RemoteTargetGuardError);
  expect(guarded(change)).toThrow(
    'Remote execution guard failed: WORKFLOW_TARGET_WORLD must equal "workflow-studio/world-remote", ' + said,
  );
});

test('the expected world can be configured; an empty name means the default', () => {
  const other = { WORKFLOW_STUDIO_REMOTE_WORLD_TARGET: 'acme/world' };
  expect(guarded(other)).toThrow('must equal "acme/world", and it is "workflow-studio/world-remote"');
  expect(guarded({ ...other, WORKFLOW_TARGET_WORLD: 'acme/world' })).not.toThrow();
  expect(guarded({ WORKFLOW_STUDIO_REMOTE_WORLD_TARGET: '', WORKFLOW_TARGET_WORLD: '' })).toThrow(RemoteTargetGuardError);
});

test.each([
  ['local mode', { WORKFLOW_EXECUTION_MODE: 'local' }],
  ['no mode', { WORKFLOW_EXECUTION_MODE: undefined }],
  ['development', { NODE_ENV: 'development' }],
  ['no NODE_ENV', { NODE_ENV: undefined }],
])('in %s the guard has no effect', (_what, change) => {
  expect(guarded({ WORKFLOW_TARGET_WORLD: 'local', ...change })).not.toThrow();
});

test('a mode option takes precedence over the environment’s', () => {
  const wrong = { WORKFLOW_TARGET_WORLD: 'local' };
  expect(guarded({ ...wrong, WORKFLOW_EXECUTION_MODE: 'local' }, 'remote')).toThrow(RemoteTargetGuardError);
  expect(guarded(wrong, 'local')).not.toThrow();
});
