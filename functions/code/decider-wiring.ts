/** The decider of what runs deployed code. It also serves the World of this code. */
import { MessageHeads } from '../../lib/aws/run-heads.ts';
import { makeUploads } from '../uploads-wiring.ts';
import { type KnowingDecider, deciderOf, depsOf, hopLimiter, loggerOf } from '../wiring.ts';

export { hopLimiter, loggerOf };

/** It may not read heads, so it takes each run's head from the message (`messageHeads`). */
export const codeDeciderOf = (by: string): KnowingDecider & { readonly messageHeads: MessageHeads } => {
  const messageHeads = new MessageHeads();
  return { ...deciderOf(by, depsOf({ messageHeads, makeUploads })), messageHeads };
};
