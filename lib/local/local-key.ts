/** The API key of this machine: made at the first start, stored in the control table as any other, kept in the state folder. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { environmentNames } from '../contract/environment.ts';
import { environment, projectId } from '../engine/ids.ts';
import { instant } from '../engine/time.ts';
import type { Cloud } from './cloud.ts';
import { place } from './place.ts';
import { readPrivate, writePrivate } from './state-files.ts';
import type { Template } from './template/template.ts';

const fileShape = z.object({ apiKey: z.string().startsWith('sw_local_') });
const variablesShape = z.looseObject({ Variables: z.record(z.string(), z.string()) });

/** The control table, as the functions are told of it. */
function controlTable(template: Template): string {
  for (const { properties } of template.of('AWS::Lambda::Function')) {
    const name = variablesShape.safeParse(properties['Environment']).data?.Variables[environmentNames.controlTable];
    if (name !== undefined) return name;
  }
  throw new Error(`No function of the template is told ${environmentNames.controlTable}`);
}

async function makeKey({ template, emulators }: Pick<Cloud, 'template' | 'emulators'>): Promise<string> {
  // only here, once per state folder: these modules would make every start slower
  const [{ DynamoDBClient }, { DynamoKeys }, { Table }, { newKey }] = await Promise.all([
    import('@aws-sdk/client-dynamodb'),
    import('../aws/keys.ts'),
    import('../aws/table.ts'),
    import('../api/auth/key-format.ts'),
  ]);
  const credentials = { accessKeyId: 'LOCAL', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint: emulators.dynamodb.url, region: place.region, credentials });
  const local = environment('local');
  const { text, keyId, secretHash } = newKey(local, randomBytes);
  await new DynamoKeys(new Table(client, controlTable(template))).putKey({
    keyId,
    secretHash,
    projectId: projectId('default'),
    environment: local,
    scopes: ['admin'],
    createdAt: instant(Date.now()),
    rateLimitPerMinute: null,
  });
  client.destroy();
  return text;
}

export async function localKey(directory: string, cloud: Pick<Cloud, 'template' | 'emulators'>): Promise<string> {
  const file = join(directory, 'key.json');
  const known = fileShape.safeParse(readPrivate(file));
  if (known.success) return known.data.apiKey;
  // stored before it is kept: a kill in between costs a key that nobody knows
  const apiKey = await makeKey(cloud);
  writePrivate(file, { apiKey });
  return apiKey;
}
