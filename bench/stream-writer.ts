/** Writes a node's token stream without a worker: for a run with a later start time. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoStreams } from '../lib/aws/watching.ts';
import { SystemClock, SystemIds } from '../lib/aws/system.ts';
import { Table } from '../lib/aws/table.ts';
import { environment, firstAttempt, nodeId, nodeKey, projectId, runId, topLevel } from '../lib/engine/ids.ts';
import { after, hours } from '../lib/engine/time.ts';
import type { Cloud } from '../lib/local/cloud.ts';
import { awsEnvironment } from '../lib/local/aws-environment.ts';
import { type StreamWriter, openStreamWriter } from '../lib/service/kinds/graph/stream-writer.ts';

/** @param node a node of the run, which must be open */
export function streamWriterIn({ template, tables }: Cloud, run: string, node: string): StreamWriter {
  const table = template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes('RunsTable'))?.name ?? '';
  const client = new DynamoDBClient({ endpoint: tables.url, region: awsEnvironment.region, credentials: tables });
  const clock = new SystemClock();
  const writer = openStreamWriter(
    { streams: new DynamoStreams(new Table(client, table)), clock, ids: new SystemIds() },
    {
      run: { projectId: projectId('default'), environment: environment('local'), runId: runId(run) },
      node: nodeKey({ nodeId: nodeId(node), iteration: topLevel }),
      attempt: firstAttempt,
      expiresAt: after(clock.now(), hours(24)),
    },
  );
  return {
    append: writer.append,
    end: async () => {
      await writer.end();
      client.destroy();
    },
  };
}
