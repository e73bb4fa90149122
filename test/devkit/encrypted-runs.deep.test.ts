/** Runs whose values are encrypted with a key of their own: no plain text is stored, and the code of each supported version replays them. */
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { cli } from '../e2e/code-projects.ts';
import { type InProcessCloud, startInProcessCloud } from '../e2e/in-process-cloud.ts';
import { Tables } from '../e2e/kills/tables.ts';
import { rotatingItem } from '../tier.ts';
import { type BuiltApp, sdkVersions } from './built-app.ts';
import { ordersApp } from './orders-app.ts';

const secretArn = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:runs-AbCdEf';

let served: InProcessCloud;
beforeAll(async () => {
  served = await startInProcessCloud({ 'stepwell:devKitSecretArn': secretArn });
  served.cloud.secrets.write(secretArn, { text: 'k'.repeat(40), version: 'v', createdAt: 0 });
});
afterAll(() => served.stop());

const resultShape = z.object({ receipt: z.string(), by: z.string() });

describe.each(rotatingItem(sdkVersions))('an app of workflow %s', (sdkVersion) => {
  let app: BuiltApp;
  beforeAll(async () => {
    app = await ordersApp(sdkVersion);
    await cli(served, app.folder, 'deploy', '--json');
  });

  test('completes a run, of which no plain value is stored, and the command line says so', async () => {
    const item = `plaintext-${sdkVersion.replaceAll('.', '-')}`;
    const env = { STEPWELL_URL: served.url, STEPWELL_API_KEY: served.apiKey };
    const client = async (command: string, value: string): Promise<readonly string[]> =>
      (await app.run('node', ['client.mjs', command, value], env)).trim().split('\n');
    const [runId = ''] = await client('start', item);
    // The client fails while the hook does not exist.
    await expect.poll(() => client('approve', item), { timeout: 60_000, interval: 250 }).toBeDefined();
    const [result = '', line] = await client('result', runId);
    const value = resultShape.parse(JSON.parse(result));
    expect([value.by, line]).toEqual(['Ada', `charged ${value.receipt}`]);

    const stored = await storedOf(runId);
    // The token of the hook is the app's own text, and not a value.
    const values = stored.replaceAll(`approve:${item}`, '').replaceAll(Buffer.from(`approve:${item}`).toString('base64'), '');
    expect(values.length).toBeGreaterThan(1_000);
    expect(plainTextsIn(values, [item, value.receipt, 'charged'])).toEqual([]);

    const shown = await cli(served, app.folder, 'runs', 'get', runId);
    expect(shown).toMatch(/input +encrypted with the key of the run: only its app can read this value/);
    expect(shown).not.toContain(item);

    // The platform serializes these arguments itself, and does not encrypt them.
    const letter = (await cli(served, app.folder, 'runs', 'start', 'workflows/order//letter', '--input', `["${item}"]`)).trim();
    expect(await cli(served, app.folder, 'runs', 'result', letter)).toContain('encrypted with the key of the run');
    expect(await cli(served, app.folder, 'runs', 'get', letter)).toMatch(new RegExp(`input +\\["${item}"\\]`));
  });
});

/** The texts that occur in any of the forms in which a store has them. */
const plainTextsIn = (stored: string, texts: readonly string[]): readonly string[] => {
  const decoded = [...stored.matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)].map(([base64]) =>
    Buffer.from(base64, 'base64').toString('latin1'),
  );
  return texts.filter((text) => [stored, ...decoded].some((each) => each.includes(text)));
};

const binary = z.object({ B: z.string() }).transform(({ B }) => Buffer.from(B, 'base64'));

/** All attributes of the items that name the run, without compression. */
async function storedOf(runId: string): Promise<string> {
  const items = await new Tables(served.cloud.tables).scan({ ConsistentRead: true });
  const ofRun = items.filter((item) => JSON.stringify(item).includes(runId));
  const textOf = (attribute: unknown): string => {
    const bytes = binary.safeParse(attribute).data;
    if (bytes === undefined) return JSON.stringify(attribute);
    return (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString('latin1');
  };
  return ofRun.flatMap((item) => Object.values(item).map(textOf)).join('\n');
}
