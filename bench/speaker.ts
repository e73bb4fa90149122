/** A node that speaks, without a worker: a run that is to begin later, whose first node says what it is told to. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoStreams } from '../lib/aws/streams.ts';
import { SystemClock } from '../lib/aws/system-clock.ts';
import { SystemIds } from '../lib/aws/system-ids.ts';
import { Table } from '../lib/aws/table.ts';
import { environment, firstAttempt, nodeId, nodeKey, projectId, runId, topLevel } from '../lib/engine/ids.ts';
import { after, hours } from '../lib/engine/time.ts';
import type { Cloud } from '../lib/local/cloud.ts';
import { place } from '../lib/local/place.ts';
import { type Voice, voiceOf } from '../lib/service/stream-node.ts';

/** @param node of the run, which must be open */
export function speakerIn({ template, tables }: Cloud, run: string, node: string): Voice {
  const table = template.of('AWS::DynamoDB::Table').find(({ logicalId }) => logicalId.includes('RunsTable'))?.name ?? '';
  const client = new DynamoDBClient({ endpoint: tables.url, region: place.region, credentials: tables });
  const clock = new SystemClock();
  const voice = voiceOf(
    { streams: new DynamoStreams(new Table(client, table)), clock, ids: new SystemIds() },
    {
      run: { projectId: projectId('default'), environment: environment('local'), runId: runId(run) },
      node: nodeKey({ nodeId: nodeId(node), iteration: topLevel }),
      attempt: firstAttempt,
      expiresAt: after(clock.now(), hours(24)),
    },
  );
  return {
    say: voice.say,
    end: async () => {
      await voice.end();
      client.destroy();
    },
  };
}
