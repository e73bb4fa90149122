/** SQS and S3 in this process, with clients. */
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type FauxqsServer, startFauxqs } from 'fauxqs';
import { testCredentials } from './dynamo.ts';

export interface QueuesAndBucket {
  readonly server: FauxqsServer;
  readonly sqs: SQSClient;
  readonly s3: S3Client;
  /** Creates a queue and returns its local URL. */
  readonly queue: (name: string) => string;
  close(): Promise<void>;
}

/** The account id of the emulator. */
const account = '000000000000';

export const startQueuesAndBucket = async (): Promise<QueuesAndBucket> => {
  const server = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false });
  const endpoint = `http://127.0.0.1:${server.port}`;
  const settings = { endpoint, region: 'eu-central-1', credentials: testCredentials };
  const sqs = new SQSClient(settings);
  const s3 = new S3Client(settings);
  return {
    server,
    sqs,
    s3,
    queue: (name) => {
      const attributes: Record<string, string> = name.endsWith('.fifo') ? { FifoQueue: 'true' } : {};
      server.createQueue(name, { region: settings.region, attributes });
      return `${endpoint}/${account}/${name}`;
    },
    close: async () => {
      sqs.destroy();
      s3.destroy();
      await server.stop();
    },
  };
};
