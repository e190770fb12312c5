process.stdout.write(`podwright on ${process.version}\n`);
