/**
 * The baseline of all latencies: sequential conditional puts of a small item. They use the same path as a function's put: an SDK
 * client, the permission check of the gateway, and the emulator.
 */
import { randomUUID } from 'node:crypto';
import { ConditionalCheckFailedException, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { dynamodb } from '../lib/local/aws/dynamodb.ts';
import { openGateway } from '../lib/local/aws/gateway.ts';
import { createPrincipals } from '../lib/local/aws/principals.ts';
import type { Cloud } from '../lib/local/cloud.ts';
import { arns, awsEnvironment } from '../lib/local/aws-environment.ts';
import { parsePolicy } from '../lib/local/policy/evaluate.ts';
import { createRecorder } from '../lib/local/recorder.ts';

/** Similar in size to the commit of a no-op node. */
const payload = 'x'.repeat(300);

/** Milliseconds of each put. The warm-up puts, as many again, are not included. */
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
  // A separate partition, because one cloud can be measured several times.
  const pk = { S: `bench#put#${randomUUID()}` };
  try {
    for (let number = 0; number < 2 * count; number += 1) {
      const Item = { pk, sk: { S: `log#${String(number).padStart(8, '0')}` }, e: { S: payload } };
      const startedAt = performance.now();
      await client.send(new PutItemCommand({ TableName: table, Item, ConditionExpression: 'attribute_not_exists(pk)' }));
      if (number >= count) times.push(performance.now() - startedAt);
    }
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException)
      throw new Error('a bare put found an existing item: the partition is not unique');
    throw error;
  } finally {
    client.destroy();
    await gateway.close();
  }
  return times;
}
