/** Accepts WebSocket connections and handles their messages: joining and leaving runs. */
import { inspectNode } from '../../lib/nodes/catalogue.ts';
import { toolsOf } from '../api/operation.ts';
import { deciderOf, loggerOf } from '../wiring.ts';
import { socketFunction } from './socket-function.ts';
import { createSockets, createWatches } from './wiring.ts';

const tools = toolsOf({ decider: deciderOf('sockets'), inspect: inspectNode, logger: loggerOf('sockets') });

export const handler = socketFunction({ ...tools, sockets: createSockets(), watches: createWatches() });
