/**
 * The yardstick: a conditional put of a small item and nothing else, over the same wire as a function's (an SDK client, the
 * gateway with its check of permissions, the emulator), in the same process, one after the other.
 */
import { randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { dynamodb } from '../lib/local/aws/dynamodb.ts';
import { openGateway } from '../lib/local/aws/gateway.ts';
import { createPrincipals } from '../lib/local/aws/principals.ts';
import type { Cloud } from '../lib/local/cloud.ts';
import { arns, awsEnvironment } from '../lib/local/aws-environment.ts';
import { parsePolicy } from '../lib/local/policy/statements.ts';
import { createRecorder } from '../lib/local/recorder/recorder.ts';

/** About the size of a no-op node's commit. */
const payload = 'x'.repeat(300);

/** Milliseconds of each put. Half of them are warming up and not among the answers. */
export async function measureBarePuts({ template, emulators }: Cloud, count: number, warn: (line: string) => void) {
  const table = template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes('RunsTable'))?.name ?? '';
  const roleArn = arns.role('bench');
  const document = { Statement: [{ Effect: 'Allow', Action: 'dynamodb:PutItem', Resource: arns.table(table) }] };
  const principals = createPrincipals(new Map([[roleArn, parsePolicy(document, 'bench')]]));
  const credentials = principals.createPrincipal('bench', roleArn);
  const gateway = await openGateway();
  gateway.mount({ principals, recorder: createRecorder(), warn, services: [dynamodb(emulators.dynamodb.forward)] });
  const client = new DynamoDBClient({ endpoint: gateway.url, region: awsEnvironment.region, credentials });
  const times: number[] = [];
  // A partition of its own: it may be measured several times in one cloud.
  const pk = { S: `bench#put#${randomUUID()}` };
  try {
    for (let number = 0; number < 2 * count; number += 1) {
      const Item = { pk, sk: { S: `log#${String(number).padStart(8, '0')}` }, e: { S: payload } };
      const startedAt = performance.now();
      await client.send(new PutItemCommand({ TableName: table, Item, ConditionExpression: 'attribute_not_exists(pk)' }));
      if (number >= count) times.push(performance.now() - startedAt);
    }
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) throw new Error('a bare put met an item');
    throw error;
  } finally {
    client.destroy();
    await gateway.close();
  }
  return times;
}
