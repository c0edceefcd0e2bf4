// Plain JavaScript, so that a Node too old for the rest can still say so.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`l9-memory needs Node 22.18 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}
