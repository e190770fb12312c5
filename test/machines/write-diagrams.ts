/** `npm run docs:machines`: draws the machines anew into docs/images. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { diagrams } from './diagrams.ts';

for (const { file, svg } of diagrams()) {
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, svg);
  console.log(file.pathname);
}
