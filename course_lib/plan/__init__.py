"""What slicing, pipelining, sharding and narrow numbers cost on a real fabric.

Its modules, by subject:

- a model and where it runs: transformer, modelfile, grid, reach, crossing, rack, price, progressbar
- memory: memory, footprint, pools, memoryruns
- slicing a layer: block, shares, slices, slicing, degrees, traffic, tensorscaling
- pipelines: orders, pipeline, review, pipelineruns
- replicas: smallmodel, replicas, sharding, zero, replicaruns
- number formats: precision, blockscale, lossscale, narrowsum, precisionruns
- compressed gradients: codecs, packed, exchange, compression, codecsteps, breakeven
- experts: experts, expertlayer, expertruns, expertconstants, expertfit, expertevidence, rackruns
- serving: served, serving, servedruns
- a training step: layertime, efficiency, steptime, stepcost, stepcomm, stepmemory
- published training: trainingdata, trainingnames, utilisation, stepfit, stepcompared, stepevidence
- the search: plans, candidates, search, picked, offers
"""
