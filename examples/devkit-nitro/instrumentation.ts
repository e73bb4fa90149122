/** Nitro loads this once when the server starts. The World then registers the address at which this server takes messages. */
import { definePlugin } from 'nitro';
import { getWorld } from 'workflow/runtime';

const world = await getWorld();
await world.start?.();

export default definePlugin(() => {});
