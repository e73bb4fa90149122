/** Starts runs from the messages of triggers: of queues, and of events and objects that EventBridge sends to queues. */
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { deciderOf, loggerOf } from '../wiring.ts';
import { handleMessages } from './handle-messages.ts';
import { createDeadLetters, createTriggersReader } from './wiring.ts';

const tools = {
  decider: deciderOf('starts'),
  triggers: createTriggersReader(),
  deadLetters: createDeadLetters(),
  logger: loggerOf('starts'),
};

export const handler = (event: SQSEvent): Promise<SQSBatchResponse> => handleMessages(tools, event);
