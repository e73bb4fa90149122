/** Environment variables, memory and timeout of deployed code. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { codeVariables } from '../../lib/api/schemas/code-variables.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { byId, ofType, storedSetting, synthesize } from './synthesized.ts';

const variables = { LOG_LEVEL: 'debug', ORDERS_URL: 'https://orders.example.com' };
const toldToCode = (settings: Parameters<typeof synthesize>[0]) => {
  const { runtime } = synthesize(settings);
  const { Variables } = z
    .object({ Variables: z.record(z.string(), z.unknown()) })
    .parse(byId(runtime, 'StepwellFunctionsCodeFunction').Properties['Environment']);
  return storedSetting(runtime, 'codeVariables', Variables['STEPWELL_CODE_VARIABLES']);
};

test('variables, memory and timeout of deployed code follow the settings, and no other function receives them', () => {
  const settings = { codeVariables: variables, memoryMb: { code: 2048 }, codeTimeoutSeconds: 120 } as const;
  expect(codeVariables.parse(toldToCode(settings))).toEqual(variables);
  const { runtime } = synthesize(settings);
  const code = byId(runtime, 'StepwellFunctionsCodeFunction');
  expect(code.Properties).toMatchObject({ MemorySize: 2048, Timeout: 120 });
  const others = ofType(runtime, 'Lambda::Function').filter(({ id }) => id !== code.id);
  expect(JSON.stringify(others)).not.toContain('STEPWELL_CODE_VARIABLES');
  expect(toldToCode({})).toEqual({});
});

test.each(['AWS_REGION', 'STEPWELL_BUCKET', 'NODE_OPTIONS', 'LAMBDA_TASK_ROOT', '_HANDLER', 'TMPDIR', 'a b', ''])(
  'the name %j is refused',
  (name) => {
    expect(() => parseSettings({ 'stepwell:codeVariables': { [name]: 'x' } })).toThrow(/codeVariables/);
  },
);

test('an API key in a variable is refused', () => {
  expect(() => parseSettings({ 'stepwell:codeVariables': { A: `sk-proj-${'a1B2'.repeat(8)}` } })).toThrow(/secretArn/);
  expect(parseSettings({ 'stepwell:codeVariables': '{"A":"b"}' })).toMatchObject({ codeVariables: { A: 'b' } });
});
