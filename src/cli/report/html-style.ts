/** The look of the HTML report: light and dark as the reader's system is, and a phone's width is enough. */
export const htmlStyle = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --ground: #ffffff; --panel: #f6f8fa;
  --succeeded: #1a7f37; --failed: #cf222e; --error: #bc4c00; --canceled: #9a6700; --skipped: #8c959f; --detached: #57606a; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --ground: #0d1117; --panel: #151b23;
  --succeeded: #3fb950; --failed: #f85149; --error: #db6d28; --canceled: #d29922; --skipped: #6e7681; --detached: #9198a1; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 0 1rem 2rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header { border-left: .4rem solid var(--soft); padding: .5rem 0 .5rem 1rem; margin: 1rem 0; }
header.succeeded { border-color: var(--succeeded); } header.failed { border-color: var(--failed); }
header.error { border-color: var(--error); } header.canceled { border-color: var(--canceled); }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
.verdict { font-size: 1.1rem; margin: .25rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; }
@media (max-width: 36rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .4rem; } }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .4rem 0; padding: 0 .8rem; }
summary { cursor: pointer; padding: .5rem 0; display: flex; flex-wrap: wrap; gap: .2rem .7rem; align-items: baseline; }
summary .name { font-weight: 600; } summary .status { color: var(--soft); flex: 1; min-width: 8rem; } summary time { color: var(--soft); }
summary i { width: .7rem; height: .7rem; border-radius: 50%; background: var(--soft); align-self: center; }
i.succeeded, b.succeeded { background: var(--succeeded); } i.failed, b.failed { background: var(--failed); }
i.error, b.error { background: var(--error); } i.canceled, b.canceled { background: var(--canceled); }
i.skipped { background: var(--skipped); } i.detached, b.detached { background: var(--detached); }
.image { color: var(--soft); margin: 0; font-size: .9rem; } .none { color: var(--soft); }
pre { background: var(--panel); border-radius: .3rem; padding: .6rem; font: .85rem/1.45 ui-monospace, monospace;
  white-space: pre-wrap; overflow: auto; max-height: 32rem; }
.timeline, .events { list-style: none; margin: 0; padding: 0; }
.timeline li { display: grid; grid-template-columns: 12rem 1fr; gap: .5rem; font-size: .85rem; align-items: center; }
.timeline li > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.timeline li > div { background: var(--panel); } .timeline b { display: block; height: .9rem; border-radius: .2rem; }
@media (max-width: 36rem) { .timeline li { grid-template-columns: 6rem 1fr; } }
.events { font-size: .85rem; } .events time { color: var(--soft); } .events .warning strong { color: var(--failed); }
.error pre { border-left: .3rem solid var(--error); }
footer { color: var(--soft); font-size: .85rem; margin-top: 2rem; }
`;
