/** Creates a state folder with all published workflows and deployed code of the load, for all rounds. */
import { deployCode } from '../../../bench/code-workflows.ts';
import { fileURLToPath } from 'node:url';
import { graphs, leafGraph } from './graphs.ts';
import { startKillableCloud } from './killable-cloud.ts';

const project = fileURLToPath(new URL('./project', import.meta.url));

/** @param directory a folder with a synthesis */
export async function prepare(directory: string): Promise<void> {
  const cloud = startKillableCloud(directory, { aheadMs: 0, effectServerPort: 0 });
  try {
    const { url, apiKey } = await cloud.started;
    for (const definition of [leafGraph, ...graphs.map((graph) => graph.definition)]) {
      const response = await fetch(`${url}/v1/workflows`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(definition),
      });
      if (!response.ok) throw new Error(`${definition.name}: ${await response.text()}`);
    }
    await deployCode(url, apiKey, project);
  } finally {
    await cloud.stop();
  }
}
