/**
 * Starts orders and reads their results, as an app does:
 * `node client.mjs start tea`, `node client.mjs approve tea`, `node client.mjs result <runId>`.
 */
import { createWorld } from 'stepwell/world';
import { getRun, resumeHook, start } from 'workflow/api';
import { setWorld } from 'workflow/runtime';

setWorld(createWorld());
const print = (line) => process.stdout.write(`${line}\n`);

const [command, value] = process.argv.slice(2);
switch (command) {
  case 'start': {
    const run = await start({ workflowId: 'workflow//./workflows/order//order' }, [value]);
    print(run.runId);
    break;
  }
  case 'approve':
    await resumeHook(`approve:${value}`, { by: 'Ada' });
    break;
  case 'result': {
    const run = getRun(value);
    print(JSON.stringify(await run.returnValue));
    const { value: line } = await run.getReadable().getReader().read();
    print(line);
  }
}
process.exit(0);
